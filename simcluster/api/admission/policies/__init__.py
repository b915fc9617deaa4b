"""ValidatingAdmissionPolicy: rules written in CEL, inside the API server."""

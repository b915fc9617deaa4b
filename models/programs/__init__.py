"""Programs of public images that do what their arguments, files and configuration say: web servers, interpreters."""

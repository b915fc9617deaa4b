"""FleetCast: satellites, their ground stations and a dashboard, over a TiDB cluster under its operator."""

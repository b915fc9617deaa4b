"""The commands that images bring: files, text, system, network and name servers, as busybox and the like print."""

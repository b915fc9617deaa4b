"""kubectl in process: the requests and the printed bytes of the real one."""

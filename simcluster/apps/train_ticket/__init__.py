"""Train Ticket: a railway's ticket office of 46 services in Java with Nacos, RabbitMQ and MySQL."""

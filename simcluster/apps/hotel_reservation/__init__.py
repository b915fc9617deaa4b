"""Hotel Reservation: eight Go services that find each other in Consul, six document stores, three caches."""

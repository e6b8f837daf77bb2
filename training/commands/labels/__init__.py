"""`spanreward labels`: what people's labels say of a metric."""

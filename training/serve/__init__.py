"""One reward behind HTTP, which `spanreward serve` runs. It never imports a trainer's packages."""

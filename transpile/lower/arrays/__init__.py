"""Lower arrays: allocation, views, subscripts, element access and aliases."""

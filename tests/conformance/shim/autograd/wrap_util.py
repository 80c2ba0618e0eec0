from autograd.operators import unary_to_nary

__all__ = ["unary_to_nary"]

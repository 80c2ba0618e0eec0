from autograd.test_util import check_grads


def quick_grad_check(f, x, extra_args=()):
    check_grads(lambda x: f(x, *extra_args), modes=["rev"], order=1)(x)

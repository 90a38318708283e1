# no host at all

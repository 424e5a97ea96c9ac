"""What can go wrong around the operator, put in on purpose, on real parts.

A real etcd and API server, with the product's rights and policies; jobs and pods are made as their
controllers and agents would make them. Whatever happens, each job has one profile in the end, with
what was known of it in time.

    submitted            jobs, as a user, a controller, a kubelet and an agent would write them
    test_profiles        what stands when nothing goes wrong; what never lands on a user's object
    test_definition      the custom resource: what it shows, explains and refuses
    test_instances       two of them; killed, frozen, cut off
    test_servers         the API server away, its streams dead; the definition missing or older
    test_ends            jobs that are deleted, also while nobody watches
    test_clocks          the clock jumps
    test_history         PostgreSQL away for a while; what is old goes, and never too early
"""

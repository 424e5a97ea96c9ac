"""Step 3, attribute: whose measurement is it?

In come pods with their owner references and what each of them used; out goes the job that a pod
belongs to, of whatever kind, and what that job used as a whole. It never guesses an owner from
the name of a pod, and never splits a shared GPU's value among the pods that share it.
"""

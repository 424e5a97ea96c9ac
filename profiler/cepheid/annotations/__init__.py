"""Step 4, annotate: facts to annotations on Nodes, Pods and jobs, and back.

In come facts about an object; out goes one server-side apply of the keys under `ai.centaurus.io`
that a reader would act on, and for readers the way back from text to facts. The keys and their
format stand in this package and nowhere else. It never creates an object, never touches a
foreign key, and leaves out what is not known.
"""

"""Step 4, annotate: facts to annotations on Nodes, Pods and jobs, and back.

In come facts about an object; out goes one server-side apply of the keys under `ai.centaurus.io`
that a reader would act on, and for readers the way back from text to facts. The keys and their
format stand in this package and nowhere else. It never creates an object, never touches a
foreign key, and leaves out what is not known.

| module | question |
|---|---|
| facts | what can be said of a Node and of a Pod? |
| codec | which keys say it, and how are they read? (shape, grammar) |
| change | is the difference worth a write, and may it wait? |
| writer | how does it get onto the object, and what of it is ours? |
| api | how is the API server reached, and what did it mean by that error? |
"""

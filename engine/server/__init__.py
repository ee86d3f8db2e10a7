"""The local server: OpenAI's HTTP API over one model. Needs the extra `martlet[server]`.

requests, messages, tools, options, fields   bodies, read strictly
app, served, security, settings              paths, what is served, to whom, where
queue, inbox                                 to the model's thread and back
reply, parts, forms, wire, faults            answers and errors, as JSON or as a stream
server                                       both sides together: start here
extra                                        what must be installed
"""

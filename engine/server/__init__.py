"""The local server: OpenAI's HTTP API over one model. Needs the extra `martlet[server]`.

requests, messages, tools, fields   bodies, read strictly
app, security, settings             paths, who may ask, where
queue, inbox                        from the HTTP side to the model's thread and back
reply, parts, forms, wire, faults   answers and errors, as JSON or server-sent events
server                              both sides together: start here
"""

"""Umi over the network: REST and MCP on one port. Needs the extra `umi-memory[server]`.

    settings      what `umi serve` was told
    service       the one open `Memory` and the namespaces seen through it
    gate          what every request passes first: host, size, time, key
    access        rights, grants and callers
    credentials   whose a bearer token is: of `keys`, or of `tokens` checked by `key_sets`
    resource      where a client without a token finds the issuer (RFC 9728)
    routes        the REST paths under /v1
    bounded       answers that end before they are too long
    mcp_http      MCP on the same port; mcp_stdio for one client on this machine
    profiles      other servers' MCP tools
    mem0          the REST API of mem0
    problems      errors as problem+json (RFC 9457)
    telemetry     spans and metrics for OpenTelemetry
    running       the process: socket, signals, graceful stop

The room stands on public names of Umi only, like the command line.
"""

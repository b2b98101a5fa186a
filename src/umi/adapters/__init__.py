"""Umi as the memory of agent frameworks. Each adapter needs its framework, an extra of Umi: `umi-memory[langgraph]`.

    langgraph         a LangGraph store, and tools that remember and recall
    openai_agents     a session of the OpenAI Agents SDK, what holds on the question, tools
    pydantic_ai       a capability of PydanticAI
    claude            Anthropic's memory tool: files that keep their history
    google_adk        a memory service of Google's Agent Development Kit
    llama_index       a memory block of LlamaIndex
    agent_framework   a context provider of Microsoft's Agent Framework
    autogen           a memory of AutoGen
    crewai            tools for CrewAI
    agno              tools for Agno
    mem0              mem0's own classes; needs neither mem0 nor an extra

A framework is imported when its adapter is, and never before. The room stands on public names of Umi only, and no adapter knows
the framework of another.
"""

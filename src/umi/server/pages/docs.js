// Shows /openapi.json: each path with its parameters, a form to try it, and what it answers.
"use strict";

const make = (tag, text, ...children) => {
  const made = document.createElement(tag);
  if (text) made.textContent = text;
  made.append(...children);
  return made;
};

const nameOf = (schema) => {
  if (!schema) return "";
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.anyOf) return schema.anyOf.map(nameOf).join(" or ");
  if (schema.enum) return schema.enum.map((one) => JSON.stringify(one)).join(", ");
  if (schema.type === "array") return `list of ${nameOf(schema.items) || "anything"}`;
  return schema.type || "anything";
};

const example = (schema, all) => {
  const found = schema.$ref ? all[nameOf(schema)] : schema;
  if (found.examples) return found.examples[0];
  const made = {};
  for (const name of found.required || []) made[name] = (found.properties[name].examples || [""])[0];
  return made;
};

const rows = (entries) => {
  const table = make("table");
  for (const [name, kind, about] of entries) {
    table.append(make("tr", "", make("th", "", make("code", name)), make("td", kind), make("td", about || "")));
  }
  return table;
};

const form = (path, method, operation, all) => {
  const made = make("form");
  const fields = new Map();
  for (const one of operation.parameters || []) {
    const input = make("input");
    input.placeholder = one.example || (one.schema.examples || [""])[0];
    fields.set(one, input);
    made.append(make("label", `${one.name} (${one.in}) `, input));
  }
  const json = operation.requestBody && operation.requestBody.content["application/json"];
  const body = make("textarea");
  if (json) {
    body.value = JSON.stringify(example(json.schema, all), null, 2);
    made.append(make("label", "body ", body));
  }
  const answer = make("pre");
  made.append(make("button", "Send"), answer);
  made.addEventListener("submit", async (event) => {
    event.preventDefault();
    const query = new URLSearchParams();
    const headers = {};
    let url = path;
    for (const [one, input] of fields) {
      if (one.in === "path") url = url.replace(`{${one.name}}`, encodeURIComponent(input.value || input.placeholder));
      else if (input.value && one.in === "query") query.append(one.name, input.value);
      else if (input.value) headers[one.name] = input.value;
    }
    const key = document.getElementById("key").value;
    if (key) headers.Authorization = `Bearer ${key}`;
    if (json) headers["Content-Type"] = "application/json";
    const got = await fetch(query.size ? `${url}?${query}` : url, { method, headers, body: json ? body.value : undefined });
    const text = await got.text();
    let shown = text;
    try { shown = JSON.stringify(JSON.parse(text), null, 2); } catch { /* not JSON: as it came */ }
    answer.textContent = `${got.status}\n${shown}`;
  });
  return made;
};

const show = (described) => {
  const all = described.components.schemas;
  document.getElementById("about").textContent = described.info.description;
  for (const [path, methods] of Object.entries(described.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      const head = make("summary", "", make("b", method.toUpperCase()), make("code", path), ` ${operation.summary || ""}`);
      const answers = Object.entries(operation.responses).filter(([status]) => status < "400").map(([status, one]) =>
        [status, one.content ? Object.values(one.content).map((kind) => nameOf(kind.schema)).join(", ") : "", one.description]);
      document.getElementById("paths").append(
        make("details", "", head, make("p", operation.description || ""), rows(answers), form(path, method.toUpperCase(), operation, all)));
    }
  }
  for (const [name, schema] of Object.entries(all).sort()) {
    const fields = Object.entries(schema.properties || {}).map(([field, one]) => [field, nameOf(one), one.description]);
    document.getElementById("schemas").append(
      make("details", "", make("summary", "", make("code", name)), make("p", schema.description || ""), rows(fields)));
  }
};

fetch("/openapi.json").then((got) => got.json()).then(show);

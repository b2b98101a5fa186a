// The public REST API: requests with the key, and errors as the server's problem details.

const KEY = "umi-key";
export const SENT = "umi-sent"; // an event: this tab sent something that may have changed what is stored

export const key = {
  get: () => sessionStorage.getItem(KEY) || "",
  set: (value) => (value ? sessionStorage.setItem(KEY, value) : sessionStorage.removeItem(KEY)),
};

export class ApiError extends Error {
  constructor(status, problem, retryAfter) {
    super(problem.detail || problem.title || `HTTP ${status}`);
    this.status = status;
    this.code = problem.code || "";
    this.limit = problem.limit;
    this.value = problem.value;
    this.retryAfter = retryAfter;
  }
}

/** The path of something in a namespace: spacePath("a/b", "profile", "Zoë") */
export const spacePath = (space, ...parts) =>
  `/v1/namespaces/${[space, ...parts].map(encodeURIComponent).join("/")}`;

/** An id that nobody else has. `crypto.randomUUID` is not there on a page that came by http from another machine. */
export const freshId = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (one) => one.toString(16).padStart(2, "0")).join("");

const url = (path, params) => {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params || {})) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null && one !== "") query.append(name, one);
    }
  }
  const text = query.toString();
  return text ? `${path}?${text}` : path;
};

const headersOf = (more) => {
  const held = key.get();
  return { ...(held ? { Authorization: `Bearer ${held}` } : {}), ...more };
};

const failed = async (answer) => {
  let problem = {};
  try {
    problem = await answer.json();
  } catch {
    // No problem details: a proxy answered, or nothing did.
  }
  return new ApiError(answer.status, problem, Number(answer.headers.get("Retry-After")) || 0);
};

// What fetch raises when no answer comes, or it breaks off.
const unreachable = (error) => {
  if (error.name === "AbortError") throw error;
  throw new ApiError(0, { code: "unreachable", detail: "" });
};

/** Sends a request; gives the answer itself. Raises ApiError for every status that is no success, status 0 without an answer. */
export async function send(method, path, { params, body, raw, headers, signal } = {}) {
  const answer = await fetch(url(path, params), {
    method,
    headers: headersOf({ ...(body === undefined ? {} : { "Content-Type": "application/json" }), ...headers }),
    body: body === undefined ? raw : JSON.stringify(body),
    signal,
    cache: "no-store",
  }).catch(unreachable);
  if (!answer.ok) throw await failed(answer);
  if (method !== "GET") dispatchEvent(new Event(SENT));
  return answer;
}

/** The JSON of an answer. With `full`: {data, leftOut, next}, of the headers Umi-Left-Out and Link. */
export async function call(method, path, options = {}) {
  const answer = await send(method, path, options);
  const data = await answer.json().catch(unreachable);
  if (!options.full) return data;
  const link = /<([^>]*)>; rel="next"/.exec(answer.headers.get("Link") || "");
  return { data, leftOut: Number(answer.headers.get("Umi-Left-Out")) || 0, next: link ? link[1] : null };
}

export const get = (path, params, options) => call("GET", path, { params, ...options });
export const post = (path, body, options) => call("POST", path, { body, ...options });
export const put = (path, body, options) => call("PUT", path, { body, ...options });

/** The next piece of an answer's body: {value, done}. */
export const piece = (reader) => reader.read().catch(unreachable);

/** Lines as they come: calls `each(line)` for every one that is not blank, until the answer ends. */
export async function lines(answer, each) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let held = "";
  for (;;) {
    const { value, done } = await piece(reader);
    if (done) break;
    const whole = (held + value).split("\n");
    held = whole.pop();
    whole.filter((line) => line.trim()).forEach(each);
  }
  if (held.trim()) each(held);
}

// Routes in the part of the URL after "#", which is never sent to the server: names of people stay out of its logs.
// A route is #/NAMESPACE/VIEW/ARGUMENT?name=value, each part percent-encoded.

export const VIEWS = ["now", "timeline", "ask", "why", "graph", "review", "activity", "admin"];

const decode = (text) => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

/** {space, view, arg, query}; space and view are "" where the URL has none. */
export function parse(hash) {
  const [path, query = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const [space = "", view = "", ...rest] = path.split("/").map(decode);
  return { space, view: VIEWS.includes(view) ? view : "", arg: rest.join("/"), query: Object.fromEntries(new URLSearchParams(query)) };
}

/** The link to a view; parameters that are empty are left out. */
export function link(space, view, arg = "", query = {}) {
  const parts = [space, view, ...(arg ? [arg] : [])].map(encodeURIComponent).join("/");
  const kept = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "" && value !== false);
  const text = new URLSearchParams(kept).toString();
  return `#/${parts}${text ? `?${text}` : ""}`;
}

export const current = () => parse(location.hash);
export const go = (hash) => { location.hash = hash; };
/** Changes the URL without a step of its own in the browser's history: for what changes while one types or drags. */
export const replace = (hash) => {
  history.replaceState(null, "", hash);
  dispatchEvent(new HashChangeEvent("hashchange"));
};

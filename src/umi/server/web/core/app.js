// What every view gets, and hooks that views use.
import { createContext, useCallback, useContext, useEffect, useState } from "../vendor/preact.js";

/**
 * The context of a view:
 *   space      name of the namespace
 *   route      {space, view, arg, query}, see core/router.js
 *   me         answer of GET /v1/me
 *   may(right, space?)   whether the key has "read", "write", "erase" or "admin" there
 *   notify(text, {label, act}?)   a message at the edge of the page, with a button where there is something to do
 *   act(name, props)     shows the dialog of acts/NAME.js, loaded when it is needed
 *   open(Dialog, props)  shows a dialog component; it gets {close, ...props}
 */
export const App = createContext(null);
export const useApp = () => useContext(App);

/** Loads what a view shows: {data, error, loading, reload}. `load(signal)` is called again when something of `deps` changes; an answer that came too late is dropped. */
export function useLoad(load, deps) {
  const [state, setState] = useState({ data: null, error: null, loading: true });
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const stopper = new AbortController();
    setState((before) => ({ ...before, loading: true }));
    load(stopper.signal).then(
      (data) => { if (!stopper.signal.aborted) setState({ data, error: null, loading: false }); },
      (error) => { if (!stopper.signal.aborted) setState({ data: null, error, loading: false }); },
    );
    return () => stopper.abort();
  }, [...deps, turn]);
  const reload = useCallback(() => setTurn((before) => before + 1), []);
  return { ...state, reload };
}

/** Runs what a button does: {run, busy, error}. A second click while it runs does nothing. */
export function useAct(act) {
  const [state, setState] = useState({ busy: false, error: null });
  const run = async (...given) => {
    if (state.busy) return undefined;
    setState({ busy: true, error: null });
    try {
      const done = await act(...given);
      setState({ busy: false, error: null });
      return done;
    } catch (error) {
      setState({ busy: false, error });
      return undefined;
    }
  };
  return { ...state, run, clear: () => setState({ busy: false, error: null }) };
}

/** Loads the styles of a view, such as "views/graph.css", once; true when they are there. */
export function useStyle(path) {
  const [ready, setReady] = useState(false);
  useEffect(() => {
    const href = `/web/${path}`;
    let found = document.querySelector(`link[href="${href}"]`);
    if (!found) {
      found = Object.assign(document.createElement("link"), { rel: "stylesheet", href });
      document.head.append(found);
    }
    if (found.sheet) setReady(true);
    else found.addEventListener("load", () => setReady(true), { once: true });
  }, [path]);
  return ready;
}

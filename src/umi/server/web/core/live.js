// What others write shows by itself: the last write of the namespace that is open, asked for again and again, and told to who listens.
// A stream would take a connection for as long as the tab is open, and a browser opens six to one server for all its tabs together.
import { useEffect, useState } from "../vendor/preact.js";
import { get, SENT, spacePath } from "./api.js";

const ASK_MS = 2000;

const listeners = new Set();
let stopper = null;
let wake = () => {};
addEventListener(SENT, () => wake());

/** Follows a namespace from now on, in place of the one before; "" follows none. */
export async function follow(space) {
  stopper?.abort();
  if (!space) return;
  const { signal } = (stopper = new AbortController());
  let known = null;
  while (!signal.aborted) {
    try {
      if (!document.hidden) {
        const { sequence } = await get(spacePath(space, "head"), {}, { signal });
        if (known !== null && sequence !== known) for (const listener of listeners) listener();
        known = sequence;
      }
    } catch (error) {
      if (signal.aborted || error.status === 401 || error.status === 403) return;
    }
    await new Promise((done) => { wake = done; setTimeout(done, ASK_MS); });
  }
}

/** A number that grows whenever something changed in the namespace: give it to `useLoad` among its deps. */
export function useLive() {
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const listener = () => setTurn((before) => before + 1);
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, []);
  return turn;
}

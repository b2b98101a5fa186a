// What others write shows by itself: the stream of changes of the namespace that is open, told to who listens.
import { useEffect, useState } from "../vendor/preact.js";
import { events, get, spacePath } from "./api.js";

const GATHER_MS = 250; // changes of one write, or of an import, are told together
const AGAIN_MS = 3000;

const listeners = new Set();
let stopper = null;
let gathered = 0;

function tell() {
  if (gathered) return;
  gathered = setTimeout(() => {
    gathered = 0;
    for (const listener of listeners) listener();
  }, GATHER_MS);
}

/** Follows a namespace from now on, in place of the one before; "" follows none. */
export async function follow(space) {
  stopper?.abort();
  if (!space) return;
  const mine = new AbortController();
  stopper = mine;
  let lastId = "";
  while (!mine.signal.aborted) {
    try {
      lastId ||= String((await get(spacePath(space, "head"), {}, { signal: mine.signal })).sequence);
      await events(spacePath(space, "changes"), {
        lastId,
        signal: mine.signal,
        each: (event) => { if (event.id) lastId = event.id; tell(); },
      });
    } catch (error) {
      if (mine.signal.aborted || error.status === 401 || error.status === 403) return;
    }
    await new Promise((done) => setTimeout(done, AGAIN_MS));
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

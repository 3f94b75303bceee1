// Whether the window is as narrow as that of a phone, where buttons in tables have no text.

import { useSyncExternalStore } from "react";

/** The same as in components.css. */
const NARROW = "(max-width: 620px)";

export const useNarrow = (): boolean => useSyncExternalStore(follow, () => matchMedia(NARROW).matches);

function follow(onChange: () => void): () => void {
  const list = matchMedia(NARROW);
  list.addEventListener("change", onChange);
  return () => list.removeEventListener("change", onChange);
}

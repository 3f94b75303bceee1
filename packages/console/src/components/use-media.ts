// Whether a media query holds now.

import { useSyncExternalStore } from "react";

/** Windows as narrow as phones, where buttons in tables have no text: the same as in components.css. */
export const NARROW = "(max-width: 620px)";

export function useMedia(query: string): boolean {
  return useSyncExternalStore(
    (onChange) => {
      const list = matchMedia(query);
      list.addEventListener("change", onChange);
      return () => list.removeEventListener("change", onChange);
    },
    () => matchMedia(query).matches,
  );
}

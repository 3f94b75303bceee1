// The search of a list: its field, and the items whose texts have what is searched for.

import { useDeferredValue, useMemo } from "react";
import { SearchField } from "../forms/fields.tsx";
import { useAddress } from "../use-address.ts";

/** `textOf`: all texts of an item that are searched. Must not change between renderings. */
export function useListSearch<T>(items: readonly T[], label: string, textOf: (item: T) => string) {
  const { search, change } = useAddress();
  const { q = "" } = search;
  // Typing stays fast while ten thousand items are searched.
  const text = useDeferredValue(q);
  const shown = useMemo(() => {
    const wanted = text.trim().toLowerCase();
    return wanted === "" ? items : items.filter((item) => textOf(item).toLowerCase().includes(wanted));
  }, [items, text, textOf]);
  return { shown, field: <SearchField label={label} value={q} onChange={(value) => change({ q: value })} /> };
}

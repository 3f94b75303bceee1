// Filters of a list by what its items have: one field for each, in the query of the address.

import { useMemo } from "react";
import { inNaturalOrder } from "../../format/natural-order.ts";
import { SelectField } from "../forms/fields.tsx";
import { useAddress } from "../use-address.ts";

/** `id`: the parameter in the address. `all`: the choice of no value. `textOf`: a value in words. */
export type ListFilter<T> = {
  readonly id: string;
  readonly label: string;
  readonly all: string;
  readonly valueIn: (item: T) => string;
  readonly textOf?: (value: string) => string;
};

/** `filters` must not change between renderings. A field is left out while all items have the same value. */
export function useListFilters<T>(items: readonly T[], filters: readonly ListFilter<T>[]) {
  const { search, change } = useAddress();
  const values = useMemo(
    () =>
      filters.map(({ valueIn }) =>
        [...new Set(items.map(valueIn))].filter((value) => value !== "").sort(inNaturalOrder),
      ),
    [items, filters],
  );
  const wanted = filters.map(({ id }) => search[id] ?? "");
  const chosen = wanted.join("\n");
  const shown = useMemo(() => {
    const asked = chosen.split("\n");
    return items.filter((item) =>
      filters.every(({ valueIn }, at) => (asked[at] ?? "") === "" || valueIn(item) === asked[at]),
    );
  }, [items, filters, chosen]);
  const fields = filters.map(({ id, label, all, textOf = (value) => value }, at) => {
    const value = wanted[at] ?? "";
    // A chosen value stays a choice after its last item is gone.
    const choices = [...new Set([...(values[at] ?? []), ...(value === "" ? [] : [value])])];
    if (choices.length < 2 && value === "") return null;
    return (
      <SelectField
        key={id}
        label={label}
        isCompact
        value={value}
        choices={[{ id: "", label: all }, ...choices.map((each) => ({ id: each, label: textOf(each) }))]}
        onChange={(next) => change({ [id]: next })}
      />
    );
  });
  return { shown, fields };
}

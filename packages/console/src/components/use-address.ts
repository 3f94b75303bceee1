// The query of the address, where pages keep filters, search and order, so that they can be shared and come back.

import { useNavigate, useSearch } from "@tanstack/react-router";

type Query = { readonly [name: string]: string };

export function useAddress() {
  const given: { readonly [name: string]: unknown } = useSearch({ strict: false });
  const navigate = useNavigate();
  const search: Query = Object.fromEntries(Object.entries(given).map(([name, value]) => [name, String(value)]));
  return {
    search,
    /** Sets parameters; empty ones are left out. */
    change(changes: Query): void {
      const next = Object.entries({ ...search, ...changes }).filter(([, value]) => value !== "");
      void navigate({ to: ".", replace: true, search: Object.fromEntries(next) });
    },
  };
}

// A collection as a table: while it is loaded, where the server refuses it, and with what filters it.

import type { ReactNode } from "react";
import type { LiveList } from "../api/use-live.ts";
import { DataTable, type DataTableProps } from "./data-table.tsx";
import { ErrorNotice, Loading } from "./ui.tsx";

/** `rows` are those of `list` that are shown; `filters` stand above the table where there is anything to be filtered. */
export function LiveTable<T>(
  props: DataTableProps<T> & { readonly list: LiveList<unknown>; readonly filters?: ReactNode },
) {
  const { list, filters, ...table } = props;
  const { items, isLoading, error, retry } = list;
  if (isLoading) return <Loading />;
  if (error !== null) return <ErrorNotice error={error} onRetry={retry} />;
  return (
    <>
      {filters !== undefined && items.length > 0 && <search className="toolbar">{filters}</search>}
      <DataTable {...table} />
    </>
  );
}

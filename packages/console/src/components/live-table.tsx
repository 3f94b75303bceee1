// A collection as a table: while it is loaded, where the server refuses it, and with what filters it.

import { type ReactNode, useDeferredValue } from "react";
import { type LiveList, useLoaded } from "../api/use-live.ts";
import { counted } from "../texts/text.tsx";
import { DataTable, type DataTableProps } from "./data-table.tsx";
import { ErrorNotice, Loading } from "./ui.tsx";

/** `rows` are those of `list` that are shown, `count` says how many; `filters` stand above the table where there is anything to be filtered. */
export function LiveTable<T>(
  props: DataTableProps<T> & {
    readonly list: LiveList<unknown>;
    readonly filters?: ReactNode;
    readonly count?: string;
  },
) {
  const { list, filters, count, ...table } = props;
  const { items, isLoading, error, retry } = list;
  // Fields are much work to make: they come after the view, in slices.
  const hasFilters = useDeferredValue(filters !== undefined && (isLoading || items.length > 0), false);
  if (error !== null) return <ErrorNotice error={error} onRetry={retry} />;
  return (
    <>
      {hasFilters && (
        <search className="toolbar">
          {filters}
          <span className="count" aria-live="polite">
            {!isLoading && count}
          </span>
        </search>
      )}
      {isLoading ? <LoadingList list={list} /> : <DataTable {...table} />}
    </>
  );
}

/** A long list says how far it has come. Screen readers hear once that it is loading. */
function LoadingList({ list }: { readonly list: LiveList<unknown> }) {
  const loaded = useLoaded(list);
  return (
    <div className="loading-list">
      <Loading />
      {loaded > 0 && <span aria-hidden="true">{counted("state.loaded", loaded)}</span>}
    </div>
  );
}

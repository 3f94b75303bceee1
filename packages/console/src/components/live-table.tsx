// A collection as a table, with its loading and error states and filters.

import { type ReactNode, useDeferredValue } from "react";
import { type LiveList, useLoaded } from "../api/use-live.ts";
import { counted } from "../texts/text.tsx";
import { DataTable, type DataTableProps } from "./data-table.tsx";
import { Loading } from "./loading.tsx";
import { ErrorNotice } from "./notice.tsx";

/** `rows`: the visible rows of `list`; `count`: their number as text; `filters`: shown above the table if there is something to filter. */
export function LiveTable<T>(
  props: DataTableProps<T> & {
    readonly list: LiveList<unknown>;
    readonly filters?: ReactNode;
    readonly count?: string;
  },
) {
  const { list, filters, count, ...table } = props;
  const { items, isLoading, error, retry } = list;
  // Filter fields are expensive to render: they follow in slices, after the page.
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

/** Shows the progress of a long list. Screen readers announce the loading state once. */
function LoadingList({ list }: { readonly list: LiveList<unknown> }) {
  const loaded = useLoaded(list);
  return (
    <div className="loading-list">
      <Loading />
      {loaded > 0 && <span aria-hidden="true">{counted("state.loaded", loaded)}</span>}
    </div>
  );
}

// A collection as a table, with its loading and error states, filters, selection, and a menu. Search and order are in the address.

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { type ReactNode, useDeferredValue, useMemo, useState } from "react";
import { type LiveList, useLoaded } from "../../api/use-live.ts";
import { counted, t } from "../../texts/text.tsx";
import { Button } from "../button.tsx";
import { EmptyState } from "../empty-state.tsx";
import { Loading } from "../loading.tsx";
import { ErrorNotice } from "../notice.tsx";
import { useAddress } from "../use-address.ts";
import { DataTable, type DataTableProps, type Sort } from "./data-table.tsx";
import { csvOf } from "./table-csv.ts";
import { filledColumns } from "./table-layout.ts";
import { TableMenu } from "./table-menu.tsx";
import { useDensity, useHiddenColumns } from "./table-settings.ts";

/** Parameters of the address that hide no row. */
const WHOLE: ReadonlySet<string> = new Set(["sort", "tab"]);

/**
 * `rows`: the visible rows of `list`; `count`: their number as text; `filters`: shown above the table if there is something to filter; `sort`: by
 * name unless given. `bulk`: the actions for selected rows, with a function that ends the selection; with it, rows can be selected by `titleOf`.
 */
export type LiveTableProps<T> = Omit<DataTableProps<T>, "rowKey" | "selection" | "onSort"> & {
  readonly list: LiveList<unknown>;
  readonly filters?: ReactNode;
  readonly count?: string;
  readonly bulk?: (rows: readonly T[], end: () => void) => ReactNode;
  readonly titleOf?: (row: T) => string;
};

const BY_NAME: Sort = { column: "name", isDescending: false };

const rowKey = ({ metadata }: Pick<KubeObject, "metadata">): string => metadata.uid ?? metadata.name ?? "";

export function LiveTable<T extends Pick<KubeObject, "metadata">>(props: LiveTableProps<T>) {
  const { list, filters, count, bulk, titleOf, columns, sort = BY_NAME, empty, ...table } = props;
  const { items, isLoading, error, retry } = list;
  const { search, change } = useAddress();
  const [hidden, show] = useHiddenColumns(location.pathname.slice(1));
  const [density, setDensity] = useDensity();
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const filled = useMemo(() => filledColumns(columns, table.rows), [columns, table.rows]);
  const shownColumns = useMemo(() => filled.filter(({ id }) => !hidden.has(id)), [filled, hidden]);
  // Filter fields are expensive to render: they follow in slices, after the page.
  const hasFilters = useDeferredValue(isLoading || items.length > 0, false);
  // Rows that a filter hides, or that are gone, are not acted on.
  const chosen = useMemo(
    () => (selected.size === 0 ? [] : table.rows.filter((row) => selected.has(rowKey(row)))),
    [selected, table.rows],
  );
  if (error !== null) return <ErrorNotice error={error} onRetry={retry} />;
  const end = (): void => setSelected(new Set());
  const selection = titleOf && bulk && { selected, onChange: setSelected, nameOf: titleOf };
  const isNarrowed = items.length > 0 && Object.keys(search).some((name) => !WHOLE.has(name));
  const order = orderOf(search["sort"]) ?? sort;
  return (
    <>
      {hasFilters && (
        <search className="toolbar">
          {filters}
          <span className="count" aria-live="polite">
            {!isLoading && count}
          </span>
          <TableMenu
            columns={columns}
            hidden={hidden}
            onShow={show}
            density={density}
            onDensity={setDensity}
            csv={() => csvOf(shownColumns, table.rows)}
            fileName={`${location.pathname.slice(1)}.csv`}
          />
        </search>
      )}
      {bulk !== undefined && chosen.length > 0 && (
        <section className="bulk" aria-label={t("table.bulk")}>
          <strong aria-live="polite">{counted("table.selected", chosen.length)}</strong>
          {bulk(chosen, end)}
          <Button kind="quiet" onPress={end}>
            {t("table.deselect")}
          </Button>
        </section>
      )}
      {isLoading ? (
        <LoadingList list={list} />
      ) : (
        <DataTable
          {...table}
          rowKey={rowKey}
          empty={isNarrowed ? <EmptyState title={t("filter.none.title")}>{t("filter.none.text")}</EmptyState> : empty}
          columns={shownColumns}
          sort={order}
          onSort={({ column, isDescending }) => change({ sort: `${isDescending ? "-" : ""}${column}` })}
          {...(selection === undefined ? {} : { selection })}
        />
      )}
    </>
  );
}

/** `-created` in the address: by the column `created`, descending. */
function orderOf(text = ""): Sort | undefined {
  if (text === "") return undefined;
  const isDescending = text.startsWith("-");
  return { column: isDescending ? text.slice(1) : text, isDescending };
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

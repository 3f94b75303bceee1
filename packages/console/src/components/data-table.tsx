// A table of any length that renders only visible rows. Screen readers still see a table with the full number of rows.

import { useVirtualizer } from "@tanstack/react-virtual";
import { ArrowDown, ArrowUp } from "lucide-react";
import { memo, type ReactNode, useMemo, useRef, useState } from "react";
import { t } from "../texts/text.tsx";

export type Column<T> = {
  readonly id: string;
  readonly header: string;
  readonly cell: (row: T) => ReactNode;
  /** CSS width; absent: the remaining width. */
  readonly width?: string;
  /** The sort key. Absent: the column cannot be sorted. */
  readonly sortBy?: (row: T) => string | number;
  /** Hidden on screens narrower than about 60 or 100 characters. */
  readonly from?: "medium" | "wide";
};

export type Sort = { readonly column: string; readonly isDescending: boolean };

export type DataTableProps<T> = {
  /** The table's name for screen readers. */
  readonly label: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly rowKey: (row: T) => string;
  readonly sort?: Sort;
  /** Shown instead of rows when there are none. */
  readonly empty: ReactNode;
};

const ROW_HEIGHT = 44;
/** Rows rendered above and below the visible ones. */
const OVERSCAN = 4;
/** With up to this many rows, the table is as high as its rows. */
const MAX_HEIGHT_ROWS = 14;

export function DataTable<T>({ label, columns, rows, rowKey, sort: firstSort, empty }: DataTableProps<T>) {
  const [sort, setSort] = useState<Sort | undefined>(firstSort);
  const sorted = useMemo(() => sortedRows(rows, columns, sort), [rows, columns, sort]);
  const scroller = useRef<HTMLDivElement>(null);
  const virtualizer = useVirtualizer({
    count: sorted.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: OVERSCAN,
    observeElementRect: observeHeight,
    // Rows are rendered in a separate task from scrolling and painting.
    useFlushSync: false,
    initialRect: { width: 1024, height: ROW_HEIGHT * MAX_HEIGHT_ROWS },
  });
  if (rows.length === 0) return empty;
  // The row component does not know the type of its row.
  const columnsOfRows = columns as readonly Column<unknown>[];
  const shown = virtualizer.getVirtualItems();
  const above = shown[0]?.start ?? 0;
  const below = virtualizer.getTotalSize() - (shown.at(-1)?.end ?? 0);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable with the keyboard
    <section className="table-box" ref={scroller} tabIndex={0} aria-label={label}>
      <table className="table" aria-rowcount={sorted.length + 1} aria-label={label}>
        <colgroup>
          {columns.map(({ id, width, from }) => (
            <col key={id} className={from} style={width === undefined ? {} : { width }} />
          ))}
        </colgroup>
        <thead>
          <tr>
            {columns.map((column) => (
              <HeaderCell key={column.id} column={column} sort={sort} onSort={setSort} />
            ))}
          </tr>
        </thead>
        <tbody>
          {above > 0 && <Spacer height={above} />}
          {shown.map(({ index }) => {
            const row = sorted[index];
            if (row === undefined) return null;
            return <Row key={rowKey(row)} index={index} row={row} columns={columnsOfRows} />;
          })}
          {below > 0 && <Spacer height={below} />}
        </tbody>
      </table>
    </section>
  );
}

/** The browser reports the size after its own layout. Reading the size would cause another layout in the task that rendered the rows. */
function observeHeight<T extends Element>(
  { scrollElement }: { readonly scrollElement: T | null },
  onSize: (size: { readonly width: number; readonly height: number }) => void,
): (() => void) | undefined {
  if (scrollElement === null) return undefined;
  const observer = new ResizeObserver(([entry]) => {
    const { width = 0, height = 0 } = entry?.contentRect ?? {};
    // Not in the frame that is being painted.
    setTimeout(() => onSize({ width: Math.round(width), height: Math.round(height) }));
  });
  observer.observe(scrollElement);
  return () => observer.disconnect();
}

/** Rendered again only for another object, not while scrolling and measuring. */
const Row = memo(function Row(props: {
  readonly index: number;
  readonly row: unknown;
  readonly columns: readonly Column<unknown>[];
}) {
  const { index, row, columns } = props;
  return (
    <tr aria-rowindex={index + 2}>
      {columns.map(({ id, cell, from }) => (
        <td key={id} className={from}>
          {cell(row)}
        </td>
      ))}
    </tr>
  );
});

/** One cell: one that spans hidden columns as well would give them room. */
function Spacer({ height }: { readonly height: number }) {
  return (
    // biome-ignore lint/a11y/noAriaHiddenOnFocusable: nothing takes the focus here
    <tr aria-hidden="true" className="spacer">
      <td style={{ height }} />
    </tr>
  );
}

function HeaderCell<T>(props: {
  readonly column: Column<T>;
  readonly sort: Sort | undefined;
  readonly onSort: (sort: Sort) => void;
}) {
  const { column, sort, onSort } = props;
  const { id, header, sortBy, from } = column;
  if (sortBy === undefined)
    return (
      <th scope="col" className={from}>
        {header}
      </th>
    );
  const isSorted = sort?.column === id;
  const isDescending = isSorted && sort.isDescending;
  const order = isDescending ? "descending" : "ascending";
  return (
    <th scope="col" className={from} aria-sort={isSorted ? order : "none"}>
      <button
        type="button"
        className="sort"
        title={t("table.sort", { column: header })}
        onClick={() => onSort({ column: id, isDescending: isSorted && !isDescending })}
      >
        {header}
        {isSorted && (isDescending ? <ArrowDown aria-hidden="true" /> : <ArrowUp aria-hidden="true" />)}
      </button>
    </th>
  );
}

function sortedRows<T>(rows: readonly T[], columns: readonly Column<T>[], sort: Sort | undefined): readonly T[] {
  const sortBy = columns.find(({ id }) => id === sort?.column)?.sortBy;
  if (sortBy === undefined || sort === undefined) return rows;
  const sign = sort.isDescending ? -1 : 1;
  const keyed = rows.map((row) => [sortBy(row), row] as const);
  keyed.sort(([one], [other]) => (one < other ? -sign : one > other ? sign : 0));
  return keyed.map(([, row]) => row);
}

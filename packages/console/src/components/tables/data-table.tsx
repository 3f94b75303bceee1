// A table of any length that renders only visible rows, and scrolls with the page. Screen readers still see a table with the full number of rows.

import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { ArrowDown, ArrowUp } from "lucide-react";
import { type KeyboardEvent, memo, type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import { inNaturalOrder } from "../../format/natural-order.ts";
import { t } from "../../texts/text.tsx";
import { fitColumns, type SizedColumn } from "./table-layout.ts";
import { useDensity } from "./table-settings.ts";

export type Column<T> = SizedColumn<T> & { readonly cell: (row: T) => ReactNode };

export type Sort = { readonly column: string; readonly isDescending: boolean };

type Selection<T> = {
  /** The keys of the selected rows. */
  readonly selected: ReadonlySet<string>;
  readonly onChange: (selected: ReadonlySet<string>) => void;
  /** The name of a row, for screen readers. */
  readonly nameOf: (row: T) => string;
};

export type DataTableProps<T> = {
  /** The table's name for screen readers. */
  readonly label: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly rowKey: (row: T) => string;
  readonly sort?: Sort;
  /** Called with another order. Absent: the table keeps it itself, from `sort` on. */
  readonly onSort?: (sort: Sort) => void;
  /** Absent: rows cannot be selected. */
  readonly selection?: Selection<T>;
  /** Shown instead of rows when there are none. */
  readonly empty: ReactNode;
};

const HEIGHTS = { comfortable: 44, compact: 32 } as const;
/** Rows rendered above and below the visible ones. */
const OVERSCAN = 6;
/** The width of the column with the checkboxes. */
const CHECKBOX_WIDTH = 40;
/** Until the browser has reported them: the part of the page above a table, and beside it. */
const ABOVE = 240;
const BESIDE = 300;

export function DataTable<T>(props: DataTableProps<T>) {
  const { label, columns, rows, rowKey, sort: given, onSort, selection, empty } = props;
  const [own, setOwn] = useState<Sort | undefined>(given);
  const sort = onSort === undefined ? own : given;
  const sorted = useMemo(() => sortedRows(rows, columns, sort), [rows, columns, sort]);
  const box = useRef<HTMLElement>(null);
  const { width, top } = usePlace(box, rows.length === 0);
  const room = width - (selection === undefined ? 0 : CHECKBOX_WIDTH);
  const fitted = useMemo(() => fitColumns(columns, rows, room), [columns, rows, room]);
  const shownColumns = useMemo(
    () => fitted.flatMap(({ id }) => columns.filter((column) => column.id === id)),
    [fitted, columns],
  );
  const [density] = useDensity();
  const virtualizer = useWindowVirtualizer({
    count: sorted.length,
    estimateSize: () => HEIGHTS[density],
    overscan: OVERSCAN,
    scrollMargin: top,
    // Rows are rendered in a separate task from scrolling and painting.
    useFlushSync: false,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: rows have another height then
  useEffect(() => virtualizer.measure(), [density]);
  const last = useRef(0);
  /** The row that gets the focus once it is rendered. */
  const wanted = useRef<number>(undefined);
  useEffect(() => void focusWanted(box.current, wanted));
  if (rows.length === 0) return empty;
  // The row component does not know the type of its row.
  const columnsOfRows = shownColumns as readonly Column<unknown>[];
  const shown = virtualizer.getVirtualItems();
  const above = (shown[0]?.start ?? top) - top;
  const below = virtualizer.getTotalSize() - ((shown.at(-1)?.end ?? top) - top);

  const toggle = (index: number, isRange: boolean): void => {
    if (selection === undefined) return;
    const row = sorted[index];
    if (row === undefined) return;
    const next = new Set(selection.selected);
    const isOn = !next.has(rowKey(row));
    const [from, to] = isRange ? [Math.min(last.current, index), Math.max(last.current, index)] : [index, index];
    for (const each of sorted.slice(from, to + 1)) {
      if (isOn) next.add(rowKey(each));
      else next.delete(rowKey(each));
    }
    last.current = index;
    selection.onChange(next);
  };
  const focusRow = (index: number): void => {
    wanted.current = index;
    if (!focusWanted(box.current, wanted)) virtualizer.scrollToIndex(index);
  };
  const onKey = (event: KeyboardEvent<HTMLElement>): void => {
    const rowIndex = Number((event.target as HTMLElement).closest("tr")?.getAttribute("aria-rowindex") ?? 0) - 2;
    if (rowIndex < 0 || event.altKey || event.ctrlKey || event.metaKey) return;
    const to = {
      ArrowDown: Math.min(rowIndex + 1, sorted.length - 1),
      ArrowUp: Math.max(rowIndex - 1, 0),
      Home: 0,
      End: sorted.length - 1,
    }[event.key];
    if (to !== undefined) focusRow(to);
    else if (event.key === "x" && selection !== undefined) toggle(rowIndex, false);
    else return;
    event.preventDefault();
  };
  return (
    <section className={`table-box ${density}`} ref={box} aria-label={label} onKeyDown={onKey}>
      <table className="table" aria-rowcount={sorted.length + 1} aria-label={label}>
        <colgroup>
          {selection !== undefined && <col style={{ width: CHECKBOX_WIDTH }} />}
          {fitted.map((column) => (
            <col key={column.id} style={{ width: column.width }} />
          ))}
        </colgroup>
        <thead>
          <tr>
            {selection !== undefined && <SelectAll rows={sorted} rowKey={rowKey} selection={selection} />}
            {shownColumns.map((column) => (
              <HeaderCell key={column.id} column={column} sort={sort} onSort={onSort ?? setOwn} />
            ))}
          </tr>
        </thead>
        <tbody>
          {above > 0 && <Spacer height={above} />}
          {shown.map(({ index }) => {
            const row = sorted[index];
            if (row === undefined) return null;
            const key = rowKey(row);
            return (
              <Row
                key={key}
                index={index}
                row={row}
                columns={columnsOfRows}
                isSelected={selection?.selected.has(key)}
                name={selection?.nameOf(row) ?? ""}
                onToggle={toggle}
              />
            );
          })}
          {below > 0 && <Spacer height={below} />}
        </tbody>
      </table>
    </section>
  );
}

/** False if the row is not rendered. */
function focusWanted(box: HTMLElement | null, wanted: { current: number | undefined }): boolean {
  if (wanted.current === undefined) return true;
  const row = box?.querySelector(`tr[aria-rowindex="${wanted.current + 2}"]`);
  const link = row?.querySelector<HTMLElement>(".row-link") ?? row?.querySelector<HTMLElement>("a, input");
  if (link == null) return false;
  wanted.current = undefined;
  link.focus();
  return true;
}

/**
 * The width of the table's box, and its distance from the top of the page. The browser reports them after its own layout: reading them would cause another
 * layout in the task that rendered the rows.
 */
function usePlace(box: { readonly current: HTMLElement | null }, isEmpty: boolean) {
  const [place, setPlace] = useState(() => ({
    width: Math.max(280, Math.min(innerWidth - (innerWidth > 860 ? BESIDE : 32), 1_700)),
    top: ABOVE,
  }));
  // biome-ignore lint/correctness/useExhaustiveDependencies: without rows there is no box
  useEffect(() => {
    const { current } = box;
    if (current === null) return undefined;
    const observer = new ResizeObserver(([entry]) => {
      const width = Math.round(entry?.contentRect.width ?? 0);
      // Not in the frame that is being painted.
      setTimeout(() => {
        const top = Math.round(current.getBoundingClientRect().top + scrollY);
        setPlace((before) => (before.width === width && before.top === top ? before : { width, top }));
      });
    });
    observer.observe(current);
    return () => observer.disconnect();
  }, [box, isEmpty]);
  return place;
}

/** Rendered again only for another object, or when it is selected, not while scrolling and measuring. */
const Row = memo(
  function Row(props: {
    readonly index: number;
    readonly row: unknown;
    readonly columns: readonly Column<unknown>[];
    /** Undefined: rows cannot be selected. */
    readonly isSelected: boolean | undefined;
    readonly name: string;
    readonly onToggle: (index: number, isRange: boolean) => void;
  }) {
    const { index, row, columns, isSelected, name, onToggle } = props;
    return (
      <tr aria-rowindex={index + 2} className={isSelected === true ? "selected" : undefined}>
        {isSelected !== undefined && (
          <td className="check above">
            <input
              type="checkbox"
              checked={isSelected}
              aria-label={t("table.select", { name })}
              onChange={(event) => onToggle(index, (event.nativeEvent as MouseEvent).shiftKey)}
            />
          </td>
        )}
        {columns.map(({ id, cell, width, text }) => {
          const content = cell(row);
          // A text may be cut where there is little room.
          const title = typeof content === "string" ? content : width === undefined ? text?.(row) : undefined;
          return (
            <td key={id} title={title === "" ? undefined : title}>
              {content}
            </td>
          );
        })}
      </tr>
    );
  },
  (before, after) =>
    before.row === after.row &&
    before.index === after.index &&
    before.columns === after.columns &&
    before.isSelected === after.isSelected &&
    // It knows the selection of the whole table.
    (before.isSelected === undefined || before.onToggle === after.onToggle),
);

function SelectAll<T>(props: {
  readonly rows: readonly T[];
  readonly rowKey: (row: T) => string;
  readonly selection: Selection<T>;
}) {
  const { rows, rowKey, selection } = props;
  const { selected, onChange } = selection;
  const isAll = selected.size >= rows.length && rows.every((row) => selected.has(rowKey(row)));
  return (
    <th scope="col" className="check">
      <input
        type="checkbox"
        checked={isAll}
        ref={(input) => {
          if (input !== null) input.indeterminate = !isAll && selected.size > 0;
        }}
        aria-label={t("table.selectAll")}
        onChange={() => onChange(isAll ? new Set() : new Set(rows.map(rowKey)))}
      />
    </th>
  );
}

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
  const { id, header, sortBy } = column;
  if (sortBy === undefined) return <th scope="col">{header}</th>;
  const isSorted = sort?.column === id;
  const isDescending = isSorted && sort.isDescending;
  const order = isDescending ? "descending" : "ascending";
  return (
    <th scope="col" aria-sort={isSorted ? order : "none"}>
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
  keyed.sort(([one], [other]) =>
    typeof one === "number" && typeof other === "number"
      ? (one - other) * sign
      : inNaturalOrder(String(one), String(other)) * sign,
  );
  return keyed.map(([, row]) => row);
}

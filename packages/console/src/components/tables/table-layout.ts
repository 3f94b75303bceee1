// Widths of table columns: as wide as their content where there is room, narrower where there is little, and fewer columns where there is less.

/** The parts of a column that its width depends on. */
export type SizedColumn<T> = {
  readonly id: string;
  readonly header: string;
  /** CSS pixels, such as `120px`, for what is no text. Absent: as the texts need. */
  readonly width?: string;
  /** The first to go where there is no room for all: `wide`, then `medium`. Absent: it always stays. */
  readonly from?: "medium" | "wide";
  /** Pixels that it keeps before others go, where it needs them. Default: SQUEEZED. */
  readonly least?: number;
  /** The text of a cell. */
  readonly text?: (row: T) => string;
  readonly sortBy?: (row: T) => string | number;
  /** It is left out where its texts are all empty. */
  readonly isOptional?: boolean;
};

/** Rows that are looked at. */
const SAMPLE = 200;
/** Pixels of a character, and around the text of a cell. */
const CHARACTER = 7;
const AROUND = 28;
const NARROWEST = 76;
const WIDEST = 440;
/** A column of texts can get as narrow as this before others go; the first has bold texts, which identify the rows. */
const SQUEEZED = 132;
const SQUEEZED_FIRST = 190;
const BOLD = 1.12;
/** One text of so many may be cut. */
const UNCUT = 0.95;

/** Columns that no row has anything in, and that can be left out, only take room. A long table is looked at in a sample. */
export function filledColumns<T, C extends SizedColumn<T>>(columns: readonly C[], rows: readonly T[]): readonly C[] {
  if (rows.length === 0) return columns;
  const sample = sampleOf(rows);
  return columns.filter((column) => column.isOptional !== true || sample.some((row) => textOf(column, row) !== ""));
}

export type FittedColumn = { readonly id: string; readonly width: number };

/** The columns that are shown in `available` pixels, with their widths, which add up to it. */
export function fitColumns<T>(
  columns: readonly SizedColumn<T>[],
  rows: readonly T[],
  available: number,
): readonly FittedColumn[] {
  const sample = sampleOf(rows);
  const sized = columns.map((column, at) => {
    const natural = naturalWidth(column, sample) * (at === 0 ? BOLD : 1);
    const least = Math.min(natural, column.least ?? (at === 0 ? SQUEEZED_FIRST : SQUEEZED));
    return { column, natural, least: column.width === undefined ? least : natural };
  });
  const shown = withRoom(sized, available);
  const natural = shown.reduce((sum, each) => sum + each.natural, 0);
  const least = shown.reduce((sum, each) => sum + each.least, 0);
  if (natural <= available) {
    // Room that is left goes to texts: badges and times look lost in it.
    const flexible = shown.filter(({ column }) => column.width === undefined);
    const grown = (flexible.length === 0 ? shown : flexible).reduce((sum, each) => sum + each.natural, 0);
    return shown.map(({ column, natural: own }) => ({
      id: column.id,
      width: own + (flexible.length === 0 || column.width === undefined ? ((available - natural) * own) / grown : 0),
    }));
  }
  if (least > available) return squeezed(shown, available);
  const share = natural === least ? 0 : Math.max(0, (available - least) / (natural - least));
  return shown.map((each) => ({ id: each.column.id, width: each.least + (each.natural - each.least) * share }));
}

/** On a phone: texts get what badges and buttons leave. */
function squeezed<T>(shown: readonly Sized<T>[], available: number): readonly FittedColumn[] {
  const isText = ({ column }: Sized<T>): boolean => column.width === undefined;
  const sum = (columns: readonly Sized<T>[]): number => columns.reduce((all, { least }) => all + least, 0);
  const texts = sum(shown.filter(isText));
  const share = texts === 0 ? available / sum(shown) : Math.max(0, available - (sum(shown) - texts)) / texts;
  return shown.map((each) => ({
    id: each.column.id,
    width: texts === 0 || isText(each) ? each.least * share : each.least,
  }));
}

type Sized<T> = { readonly column: SizedColumn<T>; readonly natural: number; readonly least: number };

function withRoom<T>(sized: readonly Sized<T>[], available: number): readonly Sized<T>[] {
  const shown = [...sized];
  for (const from of ["wide", "medium"] as const)
    while (shown.reduce((sum, { least }) => sum + least, 0) > available) {
      const last = shown.findLastIndex(({ column }) => column.from === from);
      if (last < 0) break;
      shown.splice(last, 1);
    }
  return shown;
}

/** Spread over all rows: the first are often alike. */
function sampleOf<T>(rows: readonly T[]): readonly T[] {
  if (rows.length <= SAMPLE) return rows;
  const step = rows.length / SAMPLE;
  return Array.from({ length: SAMPLE }, (_, at) => rows[Math.floor(at * step)]).filter((row) => row !== undefined);
}

function naturalWidth<T>(column: SizedColumn<T>, sample: readonly T[]): number {
  const { header, width } = column;
  if (width !== undefined) return Number.parseInt(width, 10);
  const lengths = sample.map((row) => textOf(column, row).length).sort((one, other) => one - other);
  const length = lengths[Math.floor((lengths.length - 1) * UNCUT)] ?? 0;
  // The header has an arrow when it is sorted by.
  const characters = Math.max(length, header.length + 2);
  return Math.min(Math.max(characters * CHARACTER + AROUND, NARROWEST), WIDEST);
}

/** The text of a cell: for widths and for files. */
export function textOf<T>({ text, sortBy }: Pick<SizedColumn<T>, "text" | "sortBy">, row: T): string {
  return text === undefined ? String(sortBy?.(row) ?? "") : text(row);
}

// The frame of every plot: its title and sum, the drawing, and the same figures as a table on demand.

import { type ReactNode, useState } from "react";
import { numberText, t } from "../../texts/text.tsx";

export type PlotTable = {
  readonly columns: readonly string[];
  /** The first cell names the row. */
  readonly rows: readonly (readonly [string, ...number[]])[];
};

/** `isSection`: it stands in a page by itself, and not below a heading of several. `sum`: the figure beside the title. `table` is called once it is opened. */
export function Plot(props: {
  readonly title: string;
  readonly isSection?: boolean;
  readonly sum?: ReactNode;
  readonly hint?: string | undefined;
  readonly table: () => PlotTable;
  readonly children: ReactNode;
}) {
  const { title, isSection = false, sum, hint, table, children } = props;
  const [isOpen, setOpen] = useState(false);
  return (
    <figure className="plot card">
      <figcaption>
        {isSection ? <h2>{title}</h2> : <h3>{title}</h3>}
        {sum !== undefined && <span className="plot-sum">{sum}</span>}
      </figcaption>
      {hint !== undefined && <p className="hint">{hint}</p>}
      {children}
      <details className="plot-table" onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary aria-label={t("plot.table.of", { title })}>{t("plot.table")}</summary>
        {isOpen && <Figures title={title} {...table()} />}
      </details>
    </figure>
  );
}

function Figures({ title, columns, rows }: PlotTable & { readonly title: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reachable with the keyboard
    <section className="plot-rows" tabIndex={0} aria-label={title}>
      <table>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column} scope="col">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(([name, ...figures]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              {figures.map((figure, at) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: the columns of a table stay in their order
                <td key={at}>{numberText(figure)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

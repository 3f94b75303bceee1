// The menu of a table: its columns, how dense it is, and its rows as a file.

import { SlidersHorizontal } from "lucide-react";
import { type FocusEvent, type KeyboardEvent, useRef } from "react";
import { t } from "../../texts/text.tsx";
import { DownloadButton } from "../copy-text.tsx";
import type { Density } from "./table-settings.ts";

export function TableMenu(props: {
  readonly columns: readonly { readonly id: string; readonly header: string }[];
  readonly hidden: ReadonlySet<string>;
  readonly onShow: (id: string, isShown: boolean) => void;
  readonly density: Density;
  readonly onDensity: (density: Density) => void;
  /** Made when it is asked for. */
  readonly csv: () => string;
  readonly fileName: string;
}) {
  const { columns, hidden, onShow, density, onDensity, csv, fileName } = props;
  const menu = useRef<HTMLDetailsElement>(null);
  const close = (): void => menu.current?.removeAttribute("open");
  const onKey = (event: KeyboardEvent): void => {
    if (event.key !== "Escape") return;
    close();
    menu.current?.querySelector("summary")?.focus();
  };
  const onBlur = ({ relatedTarget, currentTarget }: FocusEvent): void => {
    if (relatedTarget instanceof Node && !currentTarget.contains(relatedTarget)) close();
  };
  return (
    <details className="table-menu" ref={menu} onKeyDown={onKey} onBlur={onBlur}>
      <summary className="button plain" aria-label={t("table.menu")}>
        <SlidersHorizontal aria-hidden="true" />
      </summary>
      <div className="table-menu-content">
        <fieldset>
          <legend>{t("table.density")}</legend>
          {(["comfortable", "compact"] as const).map((id) => (
            <label key={id}>
              <input type="radio" name="density" checked={density === id} onChange={() => onDensity(id)} />
              {t(`table.density.${id}`)}
            </label>
          ))}
        </fieldset>
        {columns.length > 1 && (
          <fieldset>
            <legend>{t("table.columns")}</legend>
            {columns.slice(1).map(({ id, header }) => (
              <label key={id}>
                <input
                  type="checkbox"
                  checked={!hidden.has(id)}
                  onChange={(event) => onShow(id, event.target.checked)}
                />
                {header}
              </label>
            ))}
          </fieldset>
        )}
        <DownloadButton text={csv} fileName={fileName} label={t("table.export")} />
      </div>
    </details>
  );
}

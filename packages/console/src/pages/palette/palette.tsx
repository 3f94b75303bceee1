// The palette: finds pages, keys, clusters, projects and people, what can be done with them, and the documentation, from the keyboard.

import { useNavigate } from "@tanstack/react-router";
import { type KeyboardEvent, useDeferredValue, useEffect, useId, useState } from "react";
import { Dialog } from "../../components/dialogs/dialog.tsx";
import { counted, t } from "../../texts/text.tsx";
import type { Entry } from "./find-entries.ts";
import { useFound } from "./use-found.ts";

/** `pages`: those of the navigation that the user can open. `typed`: text that came while the palette was loaded. */
export function Palette({
  pages,
  typed,
  onClose,
}: {
  readonly pages: readonly Entry[];
  readonly typed: { current: string };
  readonly onClose: () => void;
}) {
  const navigate = useNavigate();
  const [query, setQuery] = useState(typed.current);
  useEffect(() => {
    typed.current = "";
  }, [typed]);
  const [at, setAt] = useState(0);
  const id = useId();
  const found = useFound(pages, useDeferredValue(query));
  const open = (entry: Entry | undefined): void => {
    if (entry === undefined) return;
    onClose();
    if (entry.kind === "docs") window.open(entry.to, "_blank", "noreferrer");
    else void navigate({ to: entry.to, search: entry.search ?? {} });
  };
  const onKey = (event: KeyboardEvent): void => {
    const last = found.length - 1;
    const to = {
      ArrowDown: Math.min(at + 1, last),
      ArrowUp: Math.max(at - 1, 0),
      Home: 0,
      End: last,
    }[event.key];
    if (to !== undefined) setAt(to);
    else if (event.key === "Enter") open(found[at]);
    else return;
    event.preventDefault();
  };
  const idOf = (index: number): string => `${id}-${index}`;
  return (
    <Dialog title={t("palette.title")} isOpen onClose={onClose} isWide>
      <input
        className="input palette-input"
        role="combobox"
        aria-expanded="true"
        aria-controls={id}
        aria-activedescendant={found.length > 0 ? idOf(at) : undefined}
        aria-label={t("palette.label")}
        placeholder={t("palette.hint")}
        autoFocus
        autoComplete="off"
        spellCheck={false}
        value={query}
        onChange={(event) => {
          setQuery(event.target.value);
          setAt(0);
        }}
        onKeyDown={onKey}
      />
      <div className="palette-list" role="listbox" id={id} aria-label={t("palette.found")}>
        {found.map((entry, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field has the focus, and takes the keys
          <div
            key={entry.id}
            id={idOf(index)}
            role="option"
            tabIndex={-1}
            aria-selected={index === at}
            className="palette-entry"
            ref={index === at ? (element) => element?.scrollIntoView({ block: "nearest" }) : undefined}
            onClick={() => open(entry)}
          >
            <span>{entry.title}</span>
            <span className="muted">{entry.note}</span>
            <span className="palette-kind">{t(`palette.kind.${entry.kind}`)}</span>
          </div>
        ))}
      </div>
      <p className="hint" aria-live="polite">
        {counted("palette.count", found.length)}
      </p>
    </Dialog>
  );
}

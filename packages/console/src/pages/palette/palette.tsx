// The palette: finds pages, keys, clusters, projects and people, and what can be done with them, from the keyboard.

import type { OwnedAccessKey } from "@postern/api/owned-access-key";
import type { Project } from "@postern/api/project";
import type { Team } from "@postern/api/team";
import type { User } from "@postern/api/user";
import type { VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { useNavigate } from "@tanstack/react-router";
import { type KeyboardEvent, useDeferredValue, useId, useMemo, useState } from "react";
import { ACCESS_KEYS, nameOf, PROJECTS, TEAMS, USERS, VIRTUAL_CLUSTERS } from "../../api/resources.ts";
import { useLive } from "../../api/use-live.ts";
import { Dialog } from "../../components/dialog.tsx";
import { projectOf } from "../../settings.ts";
import { counted, t } from "../../texts/text.tsx";
import { isTemporary, ownerOf } from "../keys/key-state.ts";
import { type Entry, findEntries } from "./find-entries.ts";

/** `pages`: those of the navigation that the user can open. */
export function Palette({ pages, onClose }: { readonly pages: readonly Entry[]; readonly onClose: () => void }) {
  const navigate = useNavigate();
  const [query, setQuery] = useState("");
  const [at, setAt] = useState(0);
  const id = useId();
  const entries = useEntries(pages);
  const wanted = useDeferredValue(query);
  const found = useMemo(() => findEntries(entries, wanted), [entries, wanted]);
  const open = (entry: Entry | undefined): void => {
    if (entry === undefined) return;
    onClose();
    void navigate({ to: entry.to, search: entry.search ?? {} });
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

const titleOf = (object: KubeObject & { readonly spec?: { readonly displayName?: string } }): string =>
  object.spec?.displayName || nameOf(object);
/** The name, where the title is another. */
const noteOf = (object: Parameters<typeof titleOf>[0]): string =>
  titleOf(object) === nameOf(object) ? "" : nameOf(object);

const ACTIONS = [
  ["/new/key", "keys.create"],
  ["/new/virtual-cluster", "cluster.new"],
  ["/new/project", "project.new"],
  ["/new/user", "user.new"],
  ["/new/team", "team.new"],
  ["/new/access-request", "request.new"],
] as const;

function useEntries(pages: readonly Entry[]): readonly Entry[] {
  const keys = useLive<OwnedAccessKey>(ACCESS_KEYS).items;
  const clusters = useLive<VirtualClusterInstance>(VIRTUAL_CLUSTERS).items;
  const projects = useLive<Project>(PROJECTS).items;
  const users = useLive<User>(USERS).items;
  const teams = useLive<Team>(TEAMS).items;
  return useMemo(() => {
    const made = ACTIONS.map(([to, title]): Entry => ({ id: to, kind: "action", title: t(title), note: "", to }));
    const ofClusters = clusters.flatMap((cluster): readonly Entry[] => {
      const project = projectOf(cluster.metadata.namespace ?? "");
      const to = `/clusters/${project}/${nameOf(cluster)}`;
      const title = `${project} / ${titleOf(cluster)}`;
      const doing = { kind: "action", note: "", to, search: { open: "kubeconfig" } } as const;
      return [
        { id: to, kind: "cluster", title, note: noteOf(cluster), to },
        { id: `kubeconfig ${to}`, title: t("kubeconfig.of", { name: title }), ...doing },
      ];
    });
    const ofKeys = keys
      .filter((key) => !isTemporary(key))
      .flatMap((key): readonly Entry[] => {
        const to = `/keys/${nameOf(key)}`;
        const note = `${noteOf(key)} ${ownerOf(key).name}`.trim();
        const action = (open: "disable" | "rotate", title: string): Entry => ({
          ...{ id: `${open} ${to}`, kind: "action", title, note, to, search: { open } },
        });
        return [
          { id: to, kind: "key", title: titleOf(key), note, to },
          action("disable", t("palette.disable", { name: titleOf(key) })),
          action("rotate", t("palette.rotate", { name: titleOf(key) })),
        ];
      });
    const listed = <T extends Parameters<typeof titleOf>[0]>(
      kind: Entry["kind"],
      list: string,
      objects: readonly T[],
    ) =>
      objects.map((object): Entry => {
        const to = `${list}/${nameOf(object)}`;
        return { id: to, kind, title: titleOf(object), note: noteOf(object), to };
      });
    const people = [...listed("user", "/users", users), ...listed("team", "/teams", teams)];
    return [...pages, ...made, ...listed("project", "/projects", projects), ...people, ...ofClusters, ...ofKeys];
  }, [pages, keys, clusters, projects, users, teams]);
}

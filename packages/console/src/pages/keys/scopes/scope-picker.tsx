// Selects a scope: whole projects, or virtual clusters and spaces in them, clusters, and roles for programs.

import type { Project } from "@postern/api/project";
import type { VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";
import { parseLabelSelector } from "@postern/apimachinery/selectors/label-selector";
import { useMemo, useState } from "react";
import { CLUSTERS, nameOf, PROJECTS, SPACES, type Titled, titleOf, VIRTUAL_CLUSTERS } from "../../../api/resources.ts";
import { useLive } from "../../../api/use-live.ts";
import { Checkbox, RowsField, SearchField } from "../../../components/forms/fields.tsx";
import { Loading } from "../../../components/loading.tsx";
import { useFirst } from "../../../components/tables/long-list.tsx";
import { projectOf } from "../../../settings.ts";
import { counted, named, t } from "../../../texts/text.tsx";
import { NO_SELECTOR, type ScopeDraft, type SelectorRow, selectorFault } from "./scope-draft.ts";

type PartList = "virtualClusters" | "spaces";
type List = PartList | "projects" | "clusters" | "roles";

/** A virtual cluster or a space of a project. */
type Part = { readonly list: PartList; readonly path: string; readonly title: string };

const ROLES = ["platform-cli", "metrics-reader", "scim", "vcluster", "agent"] as const;
/** With more than this many entries, the picker has a search field. */
const SEARCHED_FROM = 8;
/** Shown at first: each line is a checkbox, and ten thousand projects may have as many virtual clusters each. */
const PROJECTS_SHOWN = 20;
const PARTS_SHOWN = 5;

const isComplete = (row: SelectorRow): boolean =>
  row.project !== "" && row.selector.trim() !== "" && selectorFault(row) === undefined;

/** The project in `<project>/<name>`. */
const projectOfPath = (path: string): string => path.slice(0, path.indexOf("/"));

/** Virtual clusters that the user sees, and that a key with this selector would reach now. */
function countMatches({ project, selector, name }: SelectorRow, clusters: readonly VirtualClusterInstance[]): number {
  const { matches } = parseLabelSelector(selector);
  return clusters.filter(
    ({ metadata }) =>
      (project === "*" || projectOf(metadata.namespace ?? "") === project) &&
      (name === "" || metadata.name === name) &&
      matches(metadata.labels),
  ).length;
}

export function ScopePicker(props: {
  readonly draft: ScopeDraft;
  readonly onChange: (changes: Partial<ScopeDraft>) => void;
}) {
  const { draft, onChange } = props;
  const projects = useLive<Project>(PROJECTS);
  const virtualClusters = useLive<VirtualClusterInstance>(VIRTUAL_CLUSTERS);
  const spaces = useLive<Titled>(SPACES);
  const clusters = useLive<Titled>(CLUSTERS);
  const [text, setText] = useState("");
  const inProject = useMemo(() => {
    const found = new Map<string, Part[]>();
    const add = (list: PartList, objects: readonly Titled[]): void => {
      for (const object of objects) {
        const project = projectOf(object.metadata.namespace ?? "");
        const part = { list, path: `${project}/${nameOf(object)}`, title: titleOf(object) };
        const parts = found.get(project);
        if (parts === undefined) found.set(project, [part]);
        else parts.push(part);
      }
    };
    add("virtualClusters", virtualClusters.items);
    add("spaces", spaces.items);
    return found;
  }, [virtualClusters.items, spaces.items]);

  // As it was when the form was opened: lines do not move while they are ticked.
  const [chosen] = useState(
    () => new Set([...draft.projects, ...[...draft.virtualClusters, ...draft.spaces].map(projectOfPath)]),
  );
  const ordered = useMemo(
    () => [
      ...projects.items.filter((project) => chosen.has(nameOf(project))),
      ...projects.items.filter((project) => !chosen.has(nameOf(project))),
    ],
    [projects.items, chosen],
  );
  const wanted = text.toLowerCase();
  const isWanted = (...texts: readonly string[]): boolean =>
    wanted === "" || texts.some((each) => each.toLowerCase().includes(wanted));
  const { first, more } = useFirst(
    ordered.filter(
      (project) =>
        isWanted(nameOf(project), titleOf(project)) ||
        inProject.get(nameOf(project))?.some(({ path, title }) => isWanted(path, title)) === true,
    ),
    PROJECTS_SHOWN,
  );
  const inClusters = useFirst(
    clusters.items.filter((cluster) => isWanted(nameOf(cluster), titleOf(cluster))),
    PROJECTS_SHOWN,
  );
  const toggle = (list: List, value: string, isOn: boolean): void =>
    onChange({ [list]: isOn ? [...draft[list], value] : draft[list].filter((each) => each !== value) });

  if (projects.isLoading || virtualClusters.isLoading) return <Loading />;
  return (
    <div className="picker">
      {projects.items.length > SEARCHED_FROM && (
        <SearchField label={t("picker.search")} value={text} onChange={setText} />
      )}
      <fieldset>
        <legend>{t("picker.projects")}</legend>
        {projects.items.length === 0 && <p className="muted">{t("picker.noProjects")}</p>}
        <ul className="picker-list">
          {first.map((project) => {
            const name = nameOf(project);
            const parts = inProject.get(name) ?? [];
            const isNamed = isWanted(name, titleOf(project));
            return (
              <ProjectLine
                key={name}
                name={name}
                title={titleOf(project)}
                parts={isNamed ? parts : parts.filter(({ path, title }) => isWanted(path, title))}
                draft={draft}
                onToggle={toggle}
              />
            );
          })}
        </ul>
        {more}
      </fieldset>
      <details open={draft.selectors.length > 0}>
        <summary>{t("picker.selectors")}</summary>
        <RowsField<SelectorRow>
          label={t("picker.selectors")}
          description={t("picker.selectors.hint")}
          error={draft.selectors.map(selectorFault).find((fault) => fault !== undefined)}
          columns={[
            { id: "project", label: t("field.project"), of: PROJECTS },
            { id: "selector", label: t("field.labels"), placeholder: "env=dev", isMonospace: true },
          ]}
          rows={draft.selectors}
          empty={NO_SELECTOR}
          addLabel={t("picker.selectors.add")}
          removeLabel={({ selector }) => t("picker.selectors.remove", { selector })}
          onChange={(selectors) => onChange({ selectors })}
        />
        <ul className="picker-list">
          {draft.selectors.filter(isComplete).map((row) => (
            <li key={`${row.project}/${row.selector}/${row.name}`} className="muted">
              {counted("picker.selectors.matches", countMatches(row, virtualClusters.items), {
                project: row.project,
                selector: row.selector,
              })}
            </li>
          ))}
        </ul>
      </details>
      {clusters.items.length > 0 && (
        <fieldset>
          <legend>{t("hosts.title")}</legend>
          <ul className="picker-list">
            {inClusters.first.map((cluster) => (
              <li key={nameOf(cluster)}>
                <Checkbox
                  isSelected={draft.clusters.includes(nameOf(cluster))}
                  onChange={(isOn) => toggle("clusters", nameOf(cluster), isOn)}
                >
                  {titleOf(cluster)}
                </Checkbox>
              </li>
            ))}
          </ul>
          {inClusters.more}
        </fieldset>
      )}
      {/* Few keys need one. */}
      <details open={draft.roles.length > 0}>
        <summary>{t("picker.roles")}</summary>
        <ul className="picker-list">
          {ROLES.map((role) => (
            <li key={role}>
              <Checkbox
                isSelected={draft.roles.includes(role)}
                onChange={(isOn) => toggle("roles", role, isOn)}
                description={named("scope.words.role", role)}
              >
                <code>{role}</code>
              </Checkbox>
            </li>
          ))}
        </ul>
      </details>
    </div>
  );
}

function ProjectLine(props: {
  readonly name: string;
  readonly title: string;
  readonly parts: readonly Part[];
  readonly draft: ScopeDraft;
  readonly onToggle: (list: List, value: string, isOn: boolean) => void;
}) {
  const { name, title, parts, draft, onToggle } = props;
  // As for projects: what was chosen when the form was opened comes first.
  const [chosen] = useState(() => new Set([...draft.virtualClusters, ...draft.spaces]));
  const { first, more } = useFirst(
    [...parts.filter(({ path }) => chosen.has(path)), ...parts.filter(({ path }) => !chosen.has(path))],
    PARTS_SHOWN,
  );
  const isWhole = draft.projects.includes(name);
  return (
    <li>
      <Checkbox
        isSelected={isWhole}
        onChange={(isOn) => onToggle("projects", name, isOn)}
        description={t("picker.wholeProject")}
      >
        {title}
      </Checkbox>
      {first.length > 0 && (
        <ul>
          {first.map((part) => (
            <li key={`${part.list}/${part.path}`}>
              <Checkbox
                isSelected={isWhole || draft[part.list].includes(part.path)}
                isDisabled={isWhole}
                onChange={(isOn) => onToggle(part.list, part.path, isOn)}
              >
                {part.title}{" "}
                <span className="muted">{t(part.list === "spaces" ? "picker.space" : "picker.virtualCluster")}</span>
              </Checkbox>
            </li>
          ))}
        </ul>
      )}
      {more}
    </li>
  );
}

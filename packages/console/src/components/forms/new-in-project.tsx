// The page for a new object of a project, which is chosen in the form.

import type { Project } from "@postern/api/project";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import { nameOf, PROJECTS } from "../../api/resources.ts";
import { useLive } from "../../api/use-live.ts";
import { inNaturalOrder } from "../../format/natural-order.ts";
import { nameWithTitle } from "../../pages/projects/project-title.ts";
import { t } from "../../texts/text.tsx";
import { EmptyState } from "../empty-state.tsx";
import { Loading } from "../loading.tsx";
import { ErrorNotice } from "../notice.tsx";
import { ListLink, type PageKind } from "../object-page.tsx";
import { PageHead } from "../page-head.tsx";
import { type FormDefinition, type Missing, NewObject } from "./object-form.tsx";

/** `formFor`: with a preselected project, that of the address or the only one; otherwise "". Give the same function each time. */
export function NewInProject<Draft extends { readonly name: string }, T extends KubeObject>(props: {
  readonly kind: PageKind;
  readonly title: string;
  readonly lead: string;
  readonly formFor: (project: string) => FormDefinition<Draft, T>;
}) {
  const { kind, title, lead, formFor } = props;
  const { project = "" }: { readonly project?: string } = useSearch({ strict: false });
  const { items, isLoading, error, retry } = useLive<Project>(PROJECTS);
  const [only] = items.length === 1 ? items.map(nameOf) : [];
  const chosen = items.some((each) => nameOf(each) === project) ? project : (only ?? "");
  const form = useMemo(() => formFor(chosen), [formFor, chosen]);
  if (isLoading) return <Loading />;
  if (error !== null || items.length === 0)
    return (
      <>
        <PageHead above={<ListLink kind={kind} />} title={title} />
        {error === null ? (
          <EmptyState title={t("projects.empty.title")}>{t("projects.empty.text")}</EmptyState>
        ) : (
          <ErrorNotice error={error} onRetry={retry} />
        )}
      </>
    );
  return <NewObject form={form} title={title} lead={lead} />;
}

/** A new object in the wrong project gives its members access to it: the choice is made by the user. */
export const missingProject = ({ project }: { readonly project: string }): Missing | undefined =>
  project === "" ? { path: "metadata.namespace", text: t("form.project.choose") } : undefined;

/** Choices of a field, by display name. A form is rendered with each letter that is typed. */
export const useProjectChoices = (projects: readonly Project[]) =>
  useMemo(
    () =>
      projects
        .map((each) => ({ id: nameOf(each), label: nameWithTitle(each) }))
        .sort((one, other) => inNaturalOrder(one.label, other.label)),
    [projects],
  );

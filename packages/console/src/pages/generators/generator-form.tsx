// Creates and edits a kubeconfig generator: the virtual clusters that it selects, and the Secrets that it keeps.

import "./generator-texts.ts";
import type { KubeconfigGenerator } from "@postern/api/kubeconfig-generator";
import type { Project } from "@postern/api/project";
import { useParams } from "@tanstack/react-router";
import { useMemo } from "react";
import { PROJECTS } from "../../api/resources.ts";
import { useLive } from "../../api/use-live.ts";
import { Checkbox, GroupError, RowsField, SelectField } from "../../components/forms/fields.tsx";
import { NameFields } from "../../components/forms/name-fields.tsx";
import { missingProject, NewInProject, useProjectChoices } from "../../components/forms/new-in-project.tsx";
import { EditObject, type FieldsProps, type FormDefinition } from "../../components/forms/object-form.tsx";
import { TextField } from "../../components/forms/text-field.tsx";
import { duration } from "../../format/ages.ts";
import { t } from "../../texts/text.tsx";
import {
  EMPTY_GENERATOR,
  FORMATS,
  type GeneratorDraft,
  generatorDraftOf,
  generatorSpecOf,
  type LabelRow,
  TTLS,
} from "./generator-draft.ts";
import { generatorsIn } from "./generator-page.tsx";

const formFor = (project: string): FormDefinition<GeneratorDraft, KubeconfigGenerator> => ({
  page: "generator",
  kindOf: () => "KubeconfigGenerator",
  empty: { ...EMPTY_GENERATOR, project },
  draftOf: generatorDraftOf,
  contentOf: (draft) => ({ spec: generatorSpecOf(draft) }),
  addressOf: (draft) => generatorsIn(draft.project),
  viewOf: (draft) => `/kubeconfig-generators/${draft.project}/${draft.name}`,
  missingOf: missingProject,
  paths: [
    "metadata.namespace",
    "spec.selector",
    "spec.role",
    "spec.ttlSeconds",
    "spec.format",
    "spec.secretRef",
    "spec.secretTemplate.labels",
    "spec.secretTemplate.annotations",
    "spec.secretTemplate.copyLabels",
    "spec.argoCD.project",
    "spec.argoCD.namespaces",
    "spec.argoCD.clusterResources",
    "spec.argoCD.shard",
  ],
  fieldsOf: (props) => <Fields {...props} />,
});

export const NewGeneratorPage = () => (
  <NewInProject kind="generator" title={t("generator.new")} lead={t("generator.new.lead")} formFor={formFor} />
);

export function EditGeneratorPage() {
  const { project = "", name = "" } = useParams({ strict: false });
  const form = useMemo(() => formFor(project), [project]);
  return <EditObject form={form} address={generatorsIn(project)} name={name} />;
}

function Fields(props: FieldsProps<GeneratorDraft>) {
  const { draft, isNew, errorAt, field, onChange } = props;
  const projects = useLive<Project>(PROJECTS);
  const choices = useProjectChoices(projects.items);
  const lives = [...new Set<string>([...TTLS, draft.ttl].filter((ttl) => ttl !== ""))];
  return (
    <>
      <NameFields names={draft} isNew={isNew} errorAt={errorAt} onChange={onChange} />
      {isNew && (
        <SelectField
          label={t("field.project")}
          {...field("project", "metadata.namespace")}
          choices={choices}
          description={t("generator.project.hint")}
          placeholder={t("form.project.choose")}
        />
      )}
      <LabelsField
        label={t("field.labels")}
        description={t("generator.labels.hint")}
        keyLabel={t("generator.label.key")}
        addLabel={t("generator.label.add")}
        rows={draft.labels}
        onChange={(labels) => onChange({ labels })}
        error={errorAt("spec.selector")}
      />
      <Checkbox
        isSelected={draft.isReadOnly}
        onChange={(isReadOnly) => onChange({ isReadOnly })}
        description={t("generator.readOnly.hint")}
      >
        {t("generator.role.view")}
      </Checkbox>
      <SelectField
        label={t("generator.fact.ttl")}
        value={draft.ttl === "" ? "default" : draft.ttl}
        choices={[
          { id: "default", label: t("generator.ttl.default") },
          ...lives.map((ttl) => ({ id: ttl, label: duration(Number(ttl)) })),
        ]}
        onChange={(ttl) => onChange({ ttl: ttl === "default" ? "" : ttl })}
        description={t("generator.ttl.hint")}
        error={errorAt("spec.ttlSeconds")}
      />
      {isNew && (
        <>
          <SelectField
            label={t("field.format")}
            {...field("format", "spec.format")}
            choices={FORMATS.map((id) => ({ id, label: id, description: t(`generator.format.${id}`) }))}
          />
          <TextField
            label={t("field.secret")}
            description={t("generator.secret.hint")}
            {...field("secret", "spec.secretRef")}
            placeholder={draft.name}
            isMonospace
          />
        </>
      )}
      {draft.format === "ArgoCD" && <ArgoFields {...props} />}
      <h2>{t("generator.template.title")}</h2>
      <p className="hint">{t("generator.template.lead")}</p>
      <LabelsField
        label={t("generator.template.labels")}
        keyLabel={t("generator.label.key")}
        addLabel={t("generator.template.label.add")}
        rows={draft.secretLabels}
        onChange={(secretLabels) => onChange({ secretLabels })}
        error={errorAt("spec.secretTemplate.labels")}
      />
      {draft.format !== "Kubeconfig" && (
        <TextField
          label={t("generator.template.copy")}
          description={t("generator.template.copy.hint")}
          {...field("copyLabels", "spec.secretTemplate.copyLabels")}
          isMonospace
        />
      )}
      <LabelsField
        label={t("generator.template.annotations")}
        keyLabel={t("generator.annotation.key")}
        addLabel={t("generator.annotation.add")}
        rows={draft.annotations}
        onChange={(annotations) => onChange({ annotations })}
        error={errorAt("spec.secretTemplate.annotations")}
      />
    </>
  );
}

function ArgoFields({ draft, errorAt, field, onChange }: FieldsProps<GeneratorDraft>) {
  return (
    <>
      <h2>{t("generator.argo.title")}</h2>
      <p className="hint">{t("generator.argo.lead")}</p>
      <TextField
        label={t("generator.argo.project")}
        description={t("generator.argo.project.hint")}
        {...field("argoProject", "spec.argoCD.project")}
        isMonospace
      />
      <TextField
        label={t("generator.argo.namespaces")}
        description={t("generator.argo.namespaces.hint")}
        {...field("argoNamespaces", "spec.argoCD.namespaces")}
        isMonospace
      />
      {(draft.argoNamespaces.trim() !== "" || draft.argoClusterResources) && (
        <Checkbox
          isSelected={draft.argoClusterResources}
          onChange={(argoClusterResources) => onChange({ argoClusterResources })}
        >
          {t("generator.argo.clusterResources")}
        </Checkbox>
      )}
      <GroupError text={errorAt("spec.argoCD.clusterResources")} />
      <TextField
        label={t("generator.argo.shard")}
        description={t("generator.argo.shard.hint")}
        {...field("argoShard", "spec.argoCD.shard")}
        type="number"
      />
    </>
  );
}

function LabelsField(
  props: { readonly keyLabel: string } & Pick<
    Parameters<typeof RowsField<LabelRow>>[0],
    "label" | "description" | "addLabel" | "rows" | "onChange" | "error"
  >,
) {
  const { keyLabel, ...field } = props;
  return (
    <RowsField<LabelRow>
      {...field}
      columns={[
        { id: "key", label: keyLabel, isMonospace: true },
        { id: "value", label: t("field.value"), isMonospace: true },
      ]}
      empty={{ key: "", value: "" }}
      removeLabel={({ key, value }) => t("project.members.remove.of", { name: `${key}=${value}` })}
    />
  );
}

// Connects a cluster, and changes a host cluster: what it is called, whose it is, and where its kubeconfig is.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { useParams } from "@tanstack/react-router";
import { CLUSTERS, type Cluster } from "../../api/resources.ts";
import { withoutEmpty } from "../../api/spec-changes.ts";
import { Checkbox, Fault } from "../../components/fields.tsx";
import { EditObject, type FieldsProps, type FormDefinition, NewObject } from "../../components/object-form.tsx";
import { NO_OWNED, type OwnedDraft, OwnedFields, ownedDraftOf, ownedSpecOf } from "../../components/owned-fields.tsx";
import { TextField } from "../../components/text-field.tsx";
import { t } from "../../texts/text.tsx";

type Draft = OwnedDraft & {
  readonly isLocal: boolean;
  readonly secretNamespace: string;
  readonly secretName: string;
  readonly secretKey: string;
  readonly isClosed: boolean;
};

const EMPTY: Draft = {
  ...NO_OWNED,
  isLocal: false,
  secretNamespace: "clusters",
  secretName: "",
  secretKey: "",
  isClosed: false,
};

const draftOf = (cluster: Cluster): Draft => {
  const { local, usable, kubeConfigRef } = cluster.spec ?? {};
  return {
    ...ownedDraftOf(cluster),
    isLocal: local === true,
    secretNamespace: kubeConfigRef?.secretNamespace ?? "",
    secretName: kubeConfigRef?.secretName ?? "",
    secretKey: kubeConfigRef?.key ?? "",
    isClosed: usable === false,
  };
};

const specOf = (draft: Draft): JsonObject => ({
  ...withoutEmpty({
    ...ownedSpecOf(draft),
    kubeConfigRef: draft.isLocal
      ? {}
      : {
          secretNamespace: draft.secretNamespace.trim(),
          // One Secret for each cluster, unless another is named.
          secretName: draft.secretName.trim() || draft.name,
          key: draft.secretKey.trim(),
        },
  }),
  // Absent, it is open.
  ...(draft.isClosed ? { usable: false } : {}),
});

const FORM: FormDefinition<Draft, Cluster> = {
  page: "host",
  kindOf: () => "Cluster",
  empty: EMPTY,
  draftOf,
  contentOf: (draft) => ({ spec: specOf(draft) }),
  addressOf: () => CLUSTERS,
  viewOf: ({ name }) => `/host-clusters/${name}`,
  paths: ["spec.owner", "spec.kubeConfigRef", "spec.usable"],
  fieldsOf: (props) => <Fields {...props} />,
};

export const NewHostPage = () => <NewObject form={FORM} title={t("host.new")} lead={t("host.new.lead")} />;

export function EditHostPage() {
  const { name = "" } = useParams({ strict: false });
  return <EditObject form={FORM} address={CLUSTERS} name={name} />;
}

function Fields(props: FieldsProps<Draft>) {
  const { draft, faultAt, onChange } = props;
  return (
    <>
      <OwnedFields {...props} />
      {!draft.isLocal && (
        <fieldset className="rows">
          <legend>{t("host.secret")}</legend>
          <p className="hint">{t("host.secret.hint")}</p>
          <div className="columns">
            <TextField
              label={t("provider.secret.namespace")}
              value={draft.secretNamespace}
              onChange={(secretNamespace) => onChange({ secretNamespace })}
              autoComplete="off"
            />
            <TextField
              label={t("provider.secret.name")}
              value={draft.secretName}
              onChange={(secretName) => onChange({ secretName })}
              placeholder={draft.name}
              autoComplete="off"
            />
            <TextField
              label={t("provider.secret.key")}
              value={draft.secretKey}
              onChange={(secretKey) => onChange({ secretKey })}
              placeholder="config"
              autoComplete="off"
            />
          </div>
          <Fault text={faultAt("spec.kubeConfigRef")} />
        </fieldset>
      )}
      <Checkbox
        isSelected={draft.isClosed}
        onChange={(isClosed) => onChange({ isClosed })}
        description={t("host.closed.hint")}
      >
        {t("host.closed")}
      </Checkbox>
      <Fault text={faultAt("spec.usable")} />
    </>
  );
}

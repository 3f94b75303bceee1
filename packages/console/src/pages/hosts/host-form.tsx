// Connects a cluster, and edits a host cluster: names, owner, and the Secret with its kubeconfig.

import type { Cluster } from "@postern/api/cluster";
import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { CLUSTERS } from "../../api/resources.ts";
import { withoutEmpty } from "../../api/spec-changes.ts";
import { Checkbox, GroupError } from "../../components/fields.tsx";
import { type FieldsProps, formPages } from "../../components/object-form.tsx";
import { NO_OWNED, type OwnedDraft, OwnedFields, ownedDraftOf, ownedSpecOf } from "../../components/owned-fields.tsx";
import {
  NO_SECRET,
  type SecretDraft,
  SecretFields,
  secretDraftOf,
  secretRefOf,
} from "../../components/secret-fields.tsx";
import { t } from "../../texts/text.tsx";

type Draft = OwnedDraft & {
  readonly isLocal: boolean;
  readonly secret: SecretDraft;
  readonly isClosed: boolean;
};

const EMPTY: Draft = {
  ...NO_OWNED,
  isLocal: false,
  secret: { ...NO_SECRET, namespace: "clusters" },
  isClosed: false,
};

const draftOf = (cluster: Cluster): Draft => {
  const { local, usable, kubeConfigRef } = cluster.spec ?? {};
  return {
    ...ownedDraftOf(cluster),
    isLocal: local === true,
    secret: secretDraftOf(kubeConfigRef),
    isClosed: usable === false,
  };
};

const specOf = (draft: Draft): JsonObject => ({
  ...withoutEmpty({
    ...ownedSpecOf(draft),
    // One Secret per cluster, unless another one is named.
    kubeConfigRef: draft.isLocal ? {} : secretRefOf({ ...draft.secret, name: draft.secret.name.trim() || draft.name }),
  }),
  // Absent means that new instances are allowed.
  ...(draft.isClosed ? { usable: false } : {}),
});

export const { New: NewHostPage, Edit: EditHostPage } = formPages<Draft, Cluster>({
  page: "host",
  kind: "Cluster",
  address: CLUSTERS,
  title: "host.new",
  lead: "host.new.lead",
  empty: EMPTY,
  draftOf,
  contentOf: (draft) => ({ spec: specOf(draft) }),
  paths: ["spec.owner", "spec.kubeConfigRef", "spec.usable"],
  fieldsOf: (props) => <Fields {...props} />,
});

function Fields(props: FieldsProps<Draft>) {
  const { draft, errorAt, onChange } = props;
  return (
    <>
      <OwnedFields {...props} />
      {!draft.isLocal && (
        <SecretFields
          label={t("host.secret")}
          hint={t("host.secret.hint")}
          secret={draft.secret}
          defaults={{ name: draft.name, key: "config" }}
          error={errorAt("spec.kubeConfigRef")}
          onChange={(secret) => onChange({ secret })}
        />
      )}
      <Checkbox
        isSelected={draft.isClosed}
        onChange={(isClosed) => onChange({ isClosed })}
        description={t("host.closed.hint")}
      >
        {t("host.closed")}
      </Checkbox>
      <GroupError text={errorAt("spec.usable")} />
    </>
  );
}

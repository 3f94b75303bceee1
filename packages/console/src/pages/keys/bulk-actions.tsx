// Actions for several access keys at once: disable, extend, and revoke.

import type { OwnedAccessKey } from "@postern/api/owned-access-key";
import { isApiError } from "@postern/apimachinery/meta/api-error";
import { createResourceClient } from "@postern/client/resource-client";
import { useState } from "react";
import { useApi } from "../../api/api-context.tsx";
import { ACCESS_KEYS, nameOf } from "../../api/resources.ts";
import { Button } from "../../components/button.tsx";
import { Confirm } from "../../components/dialogs/confirm.tsx";
import { SelectField } from "../../components/forms/fields.tsx";
import { counted, t } from "../../texts/text.tsx";
import { eachOf } from "./each-of.ts";
import { extendedTTL } from "./extended-ttl.ts";

type Asked = "disable" | "extend" | "revoke";
const DAYS = ["7", "30", "90"] as const;

/** `now` in milliseconds. `onEnd` is called once all are done. */
export function BulkActions(props: {
  readonly keys: readonly OwnedAccessKey[];
  readonly now: number;
  readonly onEnd: () => void;
}) {
  const { keys, now, onEnd } = props;
  const { client, session } = useApi();
  const [asked, setAsked] = useState<Asked>();
  // They stay the same while the work goes on, which takes rows out of the list.
  const [chosen, setChosen] = useState(keys);
  const [days, setDays] = useState<(typeof DAYS)[number]>("30");
  const resource = createResourceClient<OwnedAccessKey>(client, ACCESS_KEYS);
  const work: { readonly [action in Asked]: (key: OwnedAccessKey) => Promise<unknown> } = {
    disable: (key) => resource.patch(nameOf(key), { type: "merge", patch: { spec: { disabled: true } } }),
    extend: (key) =>
      resource.patch(nameOf(key), { type: "merge", patch: { spec: { ttl: extendedTTL(key, Number(days), now) } } }),
    async revoke(key) {
      const { uid } = key.metadata;
      await resource
        .delete(nameOf(key), uid === undefined ? {} : { preconditions: { uid } })
        .catch((error: unknown) => {
          // Revoked elsewhere in the meantime.
          if (!isApiError(error, "NotFound")) throw error;
        });
    },
  };
  const ask = (action: Asked): void => {
    // The session of this page would end with it, before the others are done.
    setChosen(keys.filter((key) => nameOf(key) !== session.keyName));
    setAsked(action);
  };
  return (
    <>
      <Button kind="danger" onPress={() => ask("disable")}>
        {t("key.disable")}
      </Button>
      <Button onPress={() => ask("extend")}>{t("keys.extend")}</Button>
      <Button kind="danger" onPress={() => ask("revoke")}>
        {t("keys.revoke")}
      </Button>
      {asked !== undefined && (
        <Confirm
          isOpen
          onClose={() => setAsked(undefined)}
          isDangerous={asked !== "extend"}
          title={counted(`keys.${asked}.title`, chosen.length)}
          action={asked === "disable" ? t("key.disable") : asked === "extend" ? t("keys.extend") : t("keys.revoke")}
          consequences={
            asked === "disable"
              ? [t("key.disable.refused"), t("key.disable.back")]
              : asked === "extend"
                ? [t("keys.extend.end"), t("keys.extend.longer")]
                : [t("key.delete.refused"), t("keys.revoke.made"), t("key.delete.final")]
          }
          onConfirm={async (report) => {
            await eachOf(chosen, work[asked], (done) => report(done, chosen.length));
            onEnd();
          }}
        >
          {asked === "extend" && (
            <SelectField
              label={t("keys.extend.for")}
              value={days}
              choices={DAYS.map((id) => ({ id, label: t("keys.extend.days", { days: id }) }))}
              onChange={setDays}
            />
          )}
        </Confirm>
      )}
    </>
  );
}

// Disables and enables an object with `spec.disabled`, after a confirmation.

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { createResourceClient, type ResourceAddress } from "@postern/client/resource-client";
import { useState } from "react";
import { useApi } from "../../api/api-context.tsx";
import { nameOf } from "../../api/resources.ts";
import { useMay } from "../../api/use-may.ts";
import { t } from "../../texts/text.tsx";
import { Button } from "../button.tsx";
import { WhyNot } from "../refusals/why-not.tsx";
import { Confirm } from "./confirm.tsx";

export function DisableSwitch(props: {
  readonly address: ResourceAddress;
  readonly object: KubeObject & { readonly spec?: { readonly disabled?: boolean } };
  /** The consequences, one sentence each. */
  readonly disables: readonly string[];
  readonly enables: readonly string[];
}) {
  const { address, object, disables, enables } = props;
  const { client } = useApi();
  const name = nameOf(object);
  const { group, resource, namespace } = address;
  const right = useMay({ verb: "update", group, resource, name, ...(namespace === undefined ? {} : { namespace }) });
  const [isAsked, setAsked] = useState(false);
  const isDisabled = object.spec?.disabled === true;
  const action = isDisabled ? t("key.enable") : t("key.disable");
  return (
    <>
      <Button isDisabled={!right.isAllowed} onPress={() => setAsked(true)}>
        {action}
      </Button>
      <WhyNot right={right} />
      <Confirm
        isOpen={isAsked}
        onClose={() => setAsked(false)}
        title={isDisabled ? t("key.enable.title", { name }) : t("key.disable.title", { name })}
        action={action}
        isDangerous={!isDisabled}
        consequences={isDisabled ? enables : disables}
        onConfirm={() =>
          createResourceClient(client, address).patch(name, {
            type: "merge",
            patch: { spec: { disabled: isDisabled ? null : true } },
          })
        }
      />
    </>
  );
}

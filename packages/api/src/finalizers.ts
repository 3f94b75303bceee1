// Finalizers that the server puts on objects which leave something behind, and takes off when that is gone.

import type { KubeObject } from "@postern/apimachinery/meta/object-meta";

export const hasFinalizer = ({ metadata }: KubeObject, finalizer: string): boolean =>
  metadata.finalizers?.includes(finalizer) === true;

export const withFinalizer = <T extends KubeObject>(object: T, finalizer: string): T =>
  hasFinalizer(object, finalizer) ? object : withFinalizers(object, [...(object.metadata.finalizers ?? []), finalizer]);

export const withoutFinalizer = <T extends KubeObject>(object: T, finalizer: string): T =>
  withFinalizers(
    object,
    (object.metadata.finalizers ?? []).filter((other) => other !== finalizer),
  );

const withFinalizers = <T extends KubeObject>(object: T, finalizers: readonly string[]): T => ({
  ...object,
  metadata: { ...object.metadata, finalizers },
});

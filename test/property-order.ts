/** What whoever runs the tests may ask of properties: all that passes from the command to where they run. */
export interface PropertyOrder {
  readonly seed?: number;
  /** Where what failed stands among all that the seed makes: it alone is tried. */
  readonly path?: string;
}

declare module "vitest" {
  interface ProvidedContext {
    property: PropertyOrder;
  }
}

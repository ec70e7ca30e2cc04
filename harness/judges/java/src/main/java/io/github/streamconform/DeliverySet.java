package io.github.streamconform;

/** How many ways to deliver and to break each stream, from few to many. */
public enum DeliverySet {
    FAST,
    STANDARD,
    FULL
}

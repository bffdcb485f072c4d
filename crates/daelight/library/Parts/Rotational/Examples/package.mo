within Parts.Rotational;
package Examples "Drive trains"
end Examples;

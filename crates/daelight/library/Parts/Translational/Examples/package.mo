within Parts.Translational;
package Examples "Masses and springs"
end Examples;
